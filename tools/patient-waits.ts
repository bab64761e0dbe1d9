// Gives `vi.waitFor` a limit of 30 seconds, because test machines are busy.
import { afterAll, vi } from 'vitest'

// `vi.waitFor` gets the limit that `expect.poll` has in vitest.config.ts, because no setting replaces its own limit of one second.
const { waitFor } = vi

vi.waitFor = (probe, options) =>
  waitFor(probe, { timeout: 30_000, ...(typeof options === 'number' ? { timeout: options } : options) })

// The next file of this process sets its own limit.
afterAll(() => {
  vi.waitFor = waitFor
})
