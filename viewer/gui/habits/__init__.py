"""What a person expects of any program that is used every day: settings, sessions, history, files that change."""
