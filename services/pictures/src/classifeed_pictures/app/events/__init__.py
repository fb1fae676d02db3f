"""Events of pictures: taken, processed, and what follows sent."""
