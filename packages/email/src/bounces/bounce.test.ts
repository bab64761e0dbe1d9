import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { emailConfigSchema } from '../config.ts'
import { scanHeaders } from '../mail/header.ts'
import { parseFieldGroups, readDeliveryStatus } from './bounce.ts'

const { limits } = emailConfigSchema.parse({})

function readReportPart(part: string, boundary = 'b') {
  const type = `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`
  const octets = Buffer.from(`${type}\r\n\r\n--${boundary}\r\n${part}\r\n--${boundary}--\r\n`.replace(/\r?\n/g, '\r\n'))
  return readDeliveryStatus(octets, scanHeaders(octets, limits))
}

const status = 'Reporting-MTA: dns; mx.test\n\nFinal-Recipient: rfc822; a@b.test\nAction: failed\nStatus: 5.1.1\n'
const head = 'Content-Type: message/delivery-status\n'

test.each([
  ['without an encoding', `${head}\n${status}`, { action: 'failed', status: '5.1.1' }],
  [
    'in base64',
    `${head}Content-Transfer-Encoding: base64\n\n${Buffer.from(status).toString('base64')}`,
    { action: 'failed', status: '5.1.1' },
  ],
  [
    'with a type on its own line',
    `Content-Type:\n message/delivery-status\n\n${status}`,
    { action: 'failed', status: '5.1.1' },
  ],
  ['of RFC 6533', `Content-Type: message/global-delivery-status\n\n${status}`, { action: 'failed', status: '5.1.1' }],
  [
    'in capitals and with comments',
    `${head}\nFINAL-RECIPIENT: rfc822; a@b.test\nACTION: Failed (expired)\nSTATUS: 4.4.7 (timeout)\n`,
    { action: 'failed', status: '4.4.7' },
  ],
  [
    'with details only in its diagnostic code',
    `${head}\n${status.replace('5.1.1', '5.0.0')}Diagnostic-Code: smtp; 550 5.1.10 no such user\n`,
    { action: 'failed', status: '5.1.10' },
  ],
  [
    'with a number only',
    `${head}\nFinal-Recipient: rfc822; a@b.test\nAction: failed\nDiagnostic-Code: smtp; 452 later\n`,
    { action: 'failed', status: '4.0.0' },
  ],
  [
    'with two outcomes, by the worse outcome',
    `${head}\n${status.replace('failed', 'delayed')}\n${status}`,
    { action: 'failed', status: '5.1.1' },
  ],
  ['about nobody', `${head}\nReporting-MTA: dns; mx.test\n`, undefined],
  ['without fields', `${head}\nYour mail was not delivered: 5.1.1\n`, undefined],
  ['that is text', `Content-Type: text/plain\n\n${status}`, undefined],
])('readDeliveryStatus() reads a report %s', (_what, part, expected) => {
  expect(readReportPart(part)).toEqual(expected)
})

test.each([
  ['blank lines', `${head}\n`, '\n'],
  ['boundaries', `${head}\n`, '\n--b'],
  ['fields', `${head}\n`, 'a:b\n'],
  ['folded lines', `${head}\na:`, '\n b'],
  ['white space', 'Content-Type:', ' '],
  ['of no line end', `${head}\n`, 'x'],
])('parsing a megabyte of %s takes linear time', (_what, before, piece) => {
  const run = (text: string) => expect(readReportPart(before + text)).toBeUndefined()
  expect(measureGrowth(run, piece, 1_000_000)).toBeLessThan(24)
})

test('parseFieldGroups() keeps the first of two fields with one name, unfolded', () => {
  const [firstGroup, second, ...more] = parseFieldGroups('A: 1\r\n 2\r\nA: 3\r\n\r\n\r\nB:4\r\nno field\r\n: none')
  expect([[...(firstGroup ?? [])], [...(second ?? [])], more]).toEqual([[['a', '1 2']], [['b', '4']], []])
})
