import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { findFreePort } from '../src/free-port.ts'

const program = `
  const { findFreePort } = await import(${JSON.stringify(new URL('../src/free-port.ts', import.meta.url).href)})
  const ports = []
  for (let count = 0; count < 200; count += 1) ports.push(await findFreePort())
  process.stdout.write(JSON.stringify(ports))
  process.exit()
`

test('no two calls return the same port, in this process or another one', async () => {
  const ports: number[] = []
  for (let count = 0; count < 200; count += 1) ports.push(await findFreePort())
  const otherPorts = JSON.parse(execFileSync(process.execPath, ['--eval', program], { encoding: 'utf8' })) as number[]
  expect(new Set([...ports, ...otherPorts]).size).toBe(400)
  expect([...ports, ...otherPorts].every(port => port > 10_080 && port < 32_768)).toBe(true)
})
