// Works long enough for something to happen in the meantime.
import { setTimeout as delay } from 'node:timers/promises'

export async function handle(): Promise<string> {
  await delay(3_000)
  return 'Let me think.'
}
