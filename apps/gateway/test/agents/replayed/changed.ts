/** The same agent after a change of its file. */
export const handle = () => 'In other words'
