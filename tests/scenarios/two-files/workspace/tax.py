def rate():
    return 0.19
