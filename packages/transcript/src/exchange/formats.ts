import { formatNames } from '../entry/kind.ts'

/** The five dialects, and the entries themselves (`jsonl`: one a line). */
export const exchangeFormats = [...formatNames, 'jsonl'] as const
export type ExchangeFormat = (typeof exchangeFormats)[number]
