import { expect, test, vi } from 'vitest'
import { createLogOutput } from './log-output.ts'

function failWith(code: string): never {
  throw Object.assign(new Error(code), { code })
}

test('createLogOutput() writes lines in batches, within a short time', async () => {
  const write = vi.fn((_: number, octets: NodeJS.ArrayBufferView) => octets.byteLength)
  const output = createLogOutput(1, write as never)
  output.write('one\n')
  output.write('two\n')
  expect(write).not.toHaveBeenCalled()
  await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(1))
  expect(String(write.mock.calls[0]?.[1])).toBe('one\ntwo\n')
})

test('createLogOutput() stops writing to a reader that has gone, and keeps unread lines for a slow reader', async () => {
  const errors = ['EAGAIN', 'EPIPE']
  const writtenLines: string[] = []
  const write = (_: number, octets: NodeJS.ArrayBufferView) => {
    const error = errors.shift()
    if (error) failWith(error)
    writtenLines.push(String(octets))
    return octets.byteLength
  }
  const output = createLogOutput(1, write as never)
  const longLine = `${'x'.repeat(9_000)}\n`
  output.write(longLine)
  output.write('waiting, then lost\n')
  output.write('written\n')
  await expect.poll(() => writtenLines).toEqual(['written\n'])
})
