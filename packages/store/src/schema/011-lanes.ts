export const laneSchema = ''
