export const transcriptSchema = ''
