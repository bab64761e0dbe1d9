import { mkdtempSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createGatewayProcess } from './gateway-process.ts'

test('a gateway that cannot have its port says so and ends', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise<void>(resolve => taken.once('listening', () => resolve()))
  const { port } = taken.address() as AddressInfo
  const directory = mkdtempSync(join(tmpdir(), 'postern-start-'))
  const config = join(directory, 'postern.config.json')
  const own = { dev: true, data: directory, listen: { port }, email: { listen: { port: 0, protocol: 'smtp' } } }
  writeFileSync(config, JSON.stringify(own))
  await expect(createGatewayProcess(config).start()).rejects.toThrow(
    new RegExp(`the gateway ended with 1: listen: cannot listen on 127\\.0\\.0\\.1:${port} \\(EADDRINUSE\\)`),
  )
  taken.close()
})
