import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openAgentGateway } from '../../test/gateway.ts'
import { readIcon } from './profile.ts'

const baseDir = mkdtempSync(join(tmpdir(), 'postern-icons-'))
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const setting = { key: 'agents.echo.icon', baseDir }

function keep(name: string, bytes: Uint8Array | string): string {
  writeFileSync(join(baseDir, name), bytes)
  return name
}

describe('readIcon()', () => {
  test.each([
    ['a.png', png, 'image/png', 'png'],
    ['b.jpeg', Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/jpeg', 'jpg'],
    ['c.gif', Buffer.from('GIF89a..........'), 'image/gif', 'gif'],
    ['d.webp', Buffer.from('RIFF\n\r..WEBPVP8 '), 'image/webp', 'webp'],
    ['png.by.another.name', png, 'image/png', 'png'],
  ])('recognizes %s by its bytes', async (name, bytes, mediaType, extension) => {
    const icon = await readIcon(keep(name, bytes), setting)
    expect(icon).toMatchObject({
      mediaType,
      fileName: expect.stringMatching(new RegExp(`^[0-9a-f]{16}\\.${extension}$`)),
    })
    expect(Buffer.from(icon?.bytes ?? [])).toEqual(bytes)
  })

  test('has another name for other bytes', async () => {
    const one = await readIcon(keep('1.png', png), setting)
    const two = await readIcon(keep('2.png', Buffer.concat([png, png])), setting)
    expect(one?.fileName).not.toBe(two?.fileName)
    expect((await readIcon('a.png', setting))?.fileName).toBe(one?.fileName)
  })

  test('keeps URLs unchanged', async () => {
    expect(await readIcon('https://peer.test/a.png', setting)).toBeUndefined()
    expect(await readIcon(undefined, setting)).toBeUndefined()
  })

  test.each<[string, string | Uint8Array, string]>([
    [
      'page.svg',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'the file "page.svg" is no picture. Use PNG, JPEG, GIF or WebP.',
    ],
    ['page.png', '<!doctype html>', 'the file "page.png" is no picture. Use PNG, JPEG, GIF or WebP.'],
    ['page.webp', '<script>WEBP', 'the file "page.webp" is no picture. Use PNG, JPEG, GIF or WebP.'],
    [
      'large.png',
      Buffer.concat([png, Buffer.alloc(1024 * 1024)]),
      'the file "large.png" is larger than 1048576 bytes. Make it smaller: 400 by 400 pixels do.',
    ],
  ])('refuses %s', async (name, bytes, problem) => {
    await expect(readIcon(keep(name, bytes), setting)).rejects.toThrow(`agents.echo.icon: ${problem}`)
    await expect(readIcon(name, setting)).rejects.toBeInstanceOf(ConfigError)
  })
})

test('openAgents() gives a picture a URL below the agent’s own', async () => {
  const gateway = await openAgentGateway({ echo: { use: 'builtin:echo', icon: keep('own.png', png) } }, { baseDir })
  const icon = gateway.findIcon('echo')
  expect(gateway.find('echo')).toMatchObject({
    iconUrl: `https://agents.test/agents/echo/icon/${icon?.fileName}`,
    iconType: 'image/png',
  })
  expect(gateway.findIcon('nobody')).toBeUndefined()
})

test('openAgents() returns the public description of an agent', async () => {
  const fields = [{ name: 'Source', value: 'https://example.com/code' }]
  const also_known_as = ['https://old.test/users/echo']
  const visibleMembers = { discoverable: true, indexable: true, fields, also_known_as }
  const gateway = await openAgentGateway({ echo: { use: 'builtin:echo', ...visibleMembers } })
  expect(gateway.find('echo')).toMatchObject({
    isDiscoverable: true,
    isIndexable: true,
    fields,
    alsoKnownAs: also_known_as,
  })
})
