import { expect, test } from 'vitest'
import { limitWait } from './limit-wait.ts'

const never = new Promise<never>(() => {})
const late = () => new Error('late')

test('limitWait() gives what comes in time, and its error', async () => {
  expect(await limitWait(Promise.resolve(7), 60_000, late)).toBe(7)
  await expect(limitWait(Promise.reject(new Error('refused')), 60_000, late)).rejects.toThrow('refused')
})

test('limitWait() gives up what does not come', async () => {
  await expect(limitWait(never, 1, late)).rejects.toThrow('late')
})
