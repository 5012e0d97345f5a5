"""How the kit's described tools are hosted by the providers that treelang brings."""
