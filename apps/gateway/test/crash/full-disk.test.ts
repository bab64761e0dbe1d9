import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { mountSmallDisk } from '../setup/small-disk.ts'

test('a large mail that a full disk refuses leaves no bytes behind, and smaller messages work without a restart', async () => {
  const disk = mountSmallDisk(16)
  if (!disk) return
  onTestFinished(() => disk.remove())
  const gateway = await openTestGateway(() => ({ data: disk.directory }))
  const sendMail = async (text: string) =>
    (await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text })).answer
  const listFiles = () =>
    readdirSync(join(disk.directory, 'postern.db.blobs'), { recursive: true, withFileTypes: true }).filter(entry =>
      entry.isFile(),
    )
  expect(await sendMail('before')).toBe(250)
  const large = 'a long line of a large mail\r\n'.repeat(150_000)
  disk.fill(1_500_000)
  expect(await sendMail(large)).toBe(451)
  await eventually(async () => listFiles().length === 0)
  // The disk has space for this mail if the earlier one has freed it.
  expect(await sendMail('small')).toBe(250)
  disk.fill()
  expect((await fetch(`${gateway.url()}/healthz`)).status).toBe(200)
  disk.clear()
  await eventually(async () => (await fetch(`${gateway.url()}/readyz`)).status === 200)
  expect(await sendMail(large)).toBe(250)
  await gateway.close()
}, 120_000)
