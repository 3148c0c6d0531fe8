class A:
    def f():
        x = 1
class B:
    def f():
        x = 2
