/** Says something else than what was said before. */
export const handle = () => 'Another word'
