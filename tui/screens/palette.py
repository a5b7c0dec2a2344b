"""The command palette, which must not fall over a key that comes before its list."""

from textual.command import CommandList, CommandPalette

from tui.screens.once import Once


class Palette(Once, CommandPalette):
    """Textual 8.2 moves by a page through its list without asking whether it is laid out."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command_list":
            found = self.query_one(CommandList)
            return found.option_count > 0 and bool(found.scrollable_content_region)
        return super().check_action(action, parameters)
