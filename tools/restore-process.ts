// Restores mocks, timers and the environment after each test file, and fails if a server is still open.
import { afterAll, vi } from 'vitest'

// The environment is restored at the end, so that each file finds the process as if it were the first file in it.
const originalEnvironment = { ...process.env }
const countServers = () => process.getActiveResourcesInfo().filter(kind => kind === 'TCPServerWrap').length
const serversAtStart = countServers()

afterAll(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
  for (const name of Object.keys(process.env)) if (!(name in originalEnvironment)) delete process.env[name]
  Object.assign(process.env, originalEnvironment)
  // An open gateway or peer would keep working during later files. Some servers close in the background, so the check waits.
  if (countServers() <= serversAtStart) return
  const checkServers = () => {
    if (countServers() > serversAtStart) throw new Error('this file leaves a server open: close what it opens')
  }
  await vi.waitFor(checkServers, { timeout: 8_000 })
})
