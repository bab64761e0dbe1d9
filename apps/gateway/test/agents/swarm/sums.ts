// Computes a value from the states of the tools in `basket.ts`.
import type { ComputeDefinition } from '@postern/agents'
import type { Basket } from './basket.ts'

export const total: ComputeDefinition = {
  depends_on: ['basket', 'sold'],
  compute: ({ basket, sold }: { readonly basket: Basket; readonly sold: number }) =>
    `${basket.items.length} of ${sold}`,
}
