// The formats in which `export --messages` prints the list of messages.
export const tableFormats = ['csv', 'jsonl'] as const
export type TableFormat = (typeof tableFormats)[number]
