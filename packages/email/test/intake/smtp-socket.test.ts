import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { emailConfigSchema } from '../../src/index.ts'

import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

const directory = mkdtempSync(join(tmpdir(), 'postern-socket-'))
const path = join(directory, 'lmtp')
afterAll(() => rmSync(directory, { recursive: true }))

const openGateway = (protocol: 'smtp' | 'lmtp' = 'lmtp') => openMailGateway({ config: { listen: { path, protocol } } })

const mail = `From: Bob <bob@nodmarc.test>\r\nTo: echo@${mailDomain}\r\nSubject: Hi\r\n\r\nHello.\r\n.`

describe('LMTP by a socket in the file system', () => {
  let gateway: MailGateway
  beforeAll(async () => {
    gateway = await openGateway()
  })
  afterAll(() => gateway.close())

  test('is open to its owner and its group, and reports its path', () => {
    expect(statSync(path).mode & 0o777).toBe(0o660)
    expect(gateway.listening?.description).toBe(`LMTP on ${path}`)
  })

  test('accepts a mail, and takes its client from XFORWARD', async () => {
    const client = await openSmtpClient(path)
    await client.readReply()
    expect(await client.sendLine('LHLO mx.nodmarc.test')).toMatch(/250[ -]XFORWARD NAME ADDR/)
    expect(await client.sendLine('XFORWARD ADDR=192.0.2.77 HELO=mx.nodmarc.test')).toMatch(/^250 /)
    for (const line of ['MAIL FROM:<bob@nodmarc.test>', `RCPT TO:<echo@${mailDomain}>`, 'DATA'])
      await client.sendLine(line)
    expect(await client.sendLine(mail)).toMatch(/^250 /)
    client.end()
    const { proofs } = await gateway.readLatestMessage()
    expect(proofs.find(({ kind }) => kind === 'spf')).toMatchObject({ ip: '192.0.2.77' })
  })
})

describe('the socket file', () => {
  const openGateways: { close(): unknown }[] = []
  afterEach(async () => {
    for (const gateway of openGateways.splice(0)) await gateway.close()
    rmSync(path, { force: true })
  })

  test('gives SPF no client address for mail by SMTP', async () => {
    const gateway = await openGateway('smtp')
    openGateways.push(gateway)
    const client = await openSmtpClient(path)
    await client.readReply()
    for (const line of ['EHLO mx.nodmarc.test', 'MAIL FROM:<bob@nodmarc.test>', `RCPT TO:<echo@${mailDomain}>`, 'DATA'])
      await client.sendLine(line)
    expect(await client.sendLine(mail)).toMatch(/^250 /)
    client.end()
    expect((await gateway.readLatestMessage()).proofs.find(({ kind }) => kind === 'spf')).toMatchObject({
      verdict: 'unverifiable',
    })
  })

  test('disappears when the listener closes', async () => {
    await (await openGateway()).close()
    expect(() => statSync(path)).toThrow('ENOENT')
  })

  test('of a killed process gives way to a new one', async () => {
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    expect(() => execFileSync(process.execPath, ['-e', script])).toThrow()
    expect(statSync(path).isSocket()).toBe(true)
    openGateways.push(await openGateway())
    const client = await openSmtpClient(path)
    expect(await client.readReply()).toMatch(/^220 /)
    client.end()
  })

  test('stays with its running process, and a regular file stays too', async () => {
    const otherServer = createServer().listen(path)
    await once(otherServer, 'listening')
    await expect(openGateway()).rejects.toMatchObject({ code: 'EADDRINUSE' })
    otherServer.close()
    await once(otherServer, 'close')
    writeFileSync(path, 'a letter')
    await expect(openGateway()).rejects.toMatchObject({ code: 'EADDRINUSE' })
    expect(statSync(path).size).toBe(8)
  })
})

test('a listener requires a port or a path', () => {
  const expectedError = /must have either .*port.* or .*path/
  expect(() => emailConfigSchema.parse({ listen: {} })).toThrow(expectedError)
  expect(() => emailConfigSchema.parse({ listen: { port: 1, path: '/x' } })).toThrow(expectedError)
})
