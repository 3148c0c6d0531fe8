# The total of a cart, in cents: cart_total COUNT UNIT_PRICE
cart_total() {
  count=$1
  price=$2
  total=$((count * price))
  if [ "$count" -gt 9 ]; then
    total=$((total * 90 / 100)) # 10 % discount
  fi
  echo "$total"
}
