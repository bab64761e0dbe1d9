export const demandSchema = ''
