def greet(name):
    print("hi")
    return name
