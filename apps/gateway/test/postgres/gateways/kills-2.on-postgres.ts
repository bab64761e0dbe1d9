// Tests that gateways on one database survive kills under load; the second gateway dies first.
import { test } from 'vitest'
import { killInTurn } from './kill-in-turn.ts'

test(
  'two gateways that die 15 times in turn, the second one first, lose no message, answer none twice, and keep the order',
  {
    timeout: 900_000,
  },
  () => killInTurn(1),
)
