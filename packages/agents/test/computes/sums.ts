// Defines a shared compute that counts the items of a cart.
import type { ComputeDefinition } from '../../src/index.ts'

export const total: ComputeDefinition = {
  depends_on: ['cart'],
  shared: true,
  compute: ({ cart }: { readonly cart: readonly unknown[] }) => cart.length,
}
