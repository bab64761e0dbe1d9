export const handler = () => 'nobody calls me'
