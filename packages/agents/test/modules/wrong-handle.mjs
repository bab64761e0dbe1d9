// Exports a `handle` that is not a function, so that it is not an agent.
export const handle = 'not a function'
