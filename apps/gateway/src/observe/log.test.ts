import { expect, test, vi } from 'vitest'
import { createLogOutput, formatLogLine } from './log.ts'

test('formatLogLine() prints time, level, sentence and fields', () => {
  const line = JSON.stringify({
    level: 30,
    time: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    correlation_id: 'ab12',
    message: 7,
    msg: 'message admitted',
  })
  expect(formatLogLine(line)).toBe('03:04:05.006 info  message admitted  correlation_id=ab12  message=7\n')
})

test('formatLogLine() keeps what peers wrote on its line', () => {
  const line = JSON.stringify({ level: 30, time: 0, to: 'a\n\u001b[2Jb', msg: 'delivery settled' })
  expect(formatLogLine(line)).toBe('00:00:00.000 info  delivery settled  to=a\\u{a}\\u{1b}[2Jb\n')
})

function failWith(code: string): never {
  throw Object.assign(new Error(code), { code })
}

test('createLogOutput() writes lines in company, and soon', async () => {
  const write = vi.fn((_: number, octets: NodeJS.ArrayBufferView) => octets.byteLength)
  const output = createLogOutput(1, write as never)
  output.write('one\n')
  output.write('two\n')
  expect(write).not.toHaveBeenCalled()
  await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(1))
  expect(String(write.mock.calls[0]?.[1])).toBe('one\ntwo\n')
})

test('createLogOutput() forgets a reader that has gone, and keeps the lines that a slow one has not read yet', async () => {
  const errors = ['EAGAIN', 'EPIPE']
  const written: string[] = []
  const write = (_: number, octets: NodeJS.ArrayBufferView) => {
    const error = errors.shift()
    if (error) failWith(error)
    written.push(String(octets))
    return octets.byteLength
  }
  const output = createLogOutput(1, write as never)
  const long = `${'x'.repeat(9_000)}\n`
  output.write(long)
  output.write('kept, then lost\n')
  output.write('heard\n')
  await expect.poll(() => written).toEqual(['heard\n'])
})
