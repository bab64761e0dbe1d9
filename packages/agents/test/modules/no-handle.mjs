// Exports no function `handle`, so that it is not an agent.
export const handler = () => 'nobody calls me'
