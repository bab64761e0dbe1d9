import { afterAll, vi } from 'vitest'

// As `expect.poll` in vitest.config.ts; there is no setting for this one, whose own limit is a second.
const { waitFor } = vi

vi.waitFor = (probe, options) =>
  waitFor(probe, { timeout: 30_000, ...(typeof options === 'number' ? { timeout: options } : options) })

// The next file of this process is patient in its own right.
afterAll(() => {
  vi.waitFor = waitFor
})
