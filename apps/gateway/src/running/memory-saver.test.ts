import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startMemorySaver } from './memory-saver.ts'

const megabyte = 2 ** 20

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The flags that V8 is given while the process has these sizes, MB, one after the other. */
function listFlags(sizes: readonly number[]): readonly string[] {
  const flags: string[] = []
  let at = 0
  const saver = startMemorySaver({
    readResident: () => (sizes[Math.min(at++, sizes.length - 1)] ?? 0) * megabyte,
    setFlag: flag => flags.push(flag),
  })
  while (at < sizes.length) vi.advanceTimersByTime(100)
  saver.stop()
  vi.advanceTimersByTime(10_000)
  return flags
}

describe('the memory saver', () => {
  test('gives no flag to the V8 of Node 22, which would print an error', () => {
    const flags: string[] = []
    startMemorySaver({
      readResident: () => 900 * megabyte,
      setFlag: flag => flags.push(flag),
      v8: '12.4.254.21-node.27',
    })
    vi.advanceTimersByTime(10_000)
    expect(flags).toEqual([])
  })

  test.each([
    ['stays off in a small process', [120, 160, 189], []],
    ['goes on in a large process, with one line in the log', [160, 230, 260, 240], ['--memory-saver-mode']],
    ['stays on until the process is much smaller', [230, 200, 180], ['--memory-saver-mode']],
    ['goes off again', [230, 160, 185], ['--memory-saver-mode', '--no-memory-saver-mode']],
    [
      'follows every flood',
      [230, 160, 230, 160],
      ['--memory-saver-mode', '--no-memory-saver-mode', '--memory-saver-mode', '--no-memory-saver-mode'],
    ],
  ])('%s', (_, sizes, flags) => {
    expect(listFlags(sizes)).toEqual(flags)
  })

  test('makes V8 give back what is garbage', async () => {
    vi.useRealTimers()
    const free = await measureResident('--no-memory-saver-mode')
    // V8 collects beside the program: on a busy machine it may come too late for one of them.
    const saving = [1, 2, 3].map(() => measureResident('--memory-saver-mode'))
    expect(Math.min(...(await Promise.all(saving)))).toBeLessThan(free / 2)
  })
})

/** Bytes that a process has resident which has made much garbage, with a flag of V8. */
async function measureResident(flag: string): Promise<number> {
  const program = `
    require('node:v8').setFlagsFromString('${flag}')
    const kept = []
    for (let at = 0; at < 300_000; at += 1) kept[at % 20_000] = new Array(100).fill(at)
    process.stdout.write(String(process.memoryUsage.rss()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-semi-space-size=8', '-e', program])
  return Number(stdout)
}
