export const personSchema = ''
