export const handle = 'not a function'
