from tax import rate


def total(net):
    return net + net * rate()
