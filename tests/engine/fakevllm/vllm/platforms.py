class current_platform:
    @staticmethod
    def is_cpu() -> bool:
        return True
