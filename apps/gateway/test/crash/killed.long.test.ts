import { test } from 'vitest'
import { checkRandomKills } from './random-kills.ts'

// `killed.test.ts` has the other half of the messages and kills, and runs at the same time.
test(
  'another gateway that dies at random moments loses no acknowledged message and answers none twice',
  {
    timeout: 1_500_000,
  },
  () => checkRandomKills({ messages: 335, fewestKills: 15 }),
)
