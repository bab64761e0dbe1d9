// Extends the limit of `vi.waitFor` to 30 seconds, because test machines are busy.
import { afterAll, vi } from 'vitest'

// `vi.waitFor` gets the same limit as `expect.poll` in vitest.config.ts, because no setting changes its limit of one second.
const { waitFor } = vi

vi.waitFor = (findValue, options) =>
  waitFor(findValue, { timeout: 30_000, ...(typeof options === 'number' ? { timeout: options } : options) })

// The next test file of this process sets the limit again.
afterAll(() => {
  vi.waitFor = waitFor
})
