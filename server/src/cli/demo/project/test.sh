. ./cart.sh
failed=0
check() {
  got=$(cart_total "$1" "$2")
  if [ "$got" = "$3" ]; then
    echo "ok    $1 x $2 = $3"
  else
    echo "FAIL  $1 x $2: wanted $3, got $got"
    failed=1
  fi
}
check 1 250 250
check 4 250 1000
check 5 250 1125
check 12 100 1080
exit "$failed"
