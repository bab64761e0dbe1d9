import { drawCount } from '@postern/testing/scale'
import { test } from 'vitest'
import { checkRandomKills } from './random-kills.ts'

test(
  'a gateway that dies at random moments loses no acknowledged message and answers none twice',
  {
    timeout: 1_500_000,
  },
  () =>
    checkRandomKills({
      messages: drawCount({ quick: 9, long: 335 }),
      fewestKills: drawCount({ quick: 2, long: 15 }),
    }),
)
