// Runs Sisimai's collection of automatic mail.
import { openMailGateway } from '../setup/gateway.ts'
import { judgeDispositions } from '../setup/judge-dispositions.ts'
import type { ScoredCase } from './score.ts'

/** Scores Sisimai's bounces, complaints and vacation notices of other servers. None may be answered. */
export async function scoreNeverAnswered(folder: URL): Promise<readonly ScoredCase[]> {
  const gateway = await openMailGateway({ config: { answer_bcc: true } })
  try {
    const dispositions = await judgeDispositions(gateway, folder)
    return dispositions.map(({ file, disposition, why }) => ({
      name: file,
      hasPassed: disposition !== 'answered',
      note: why.join(', '),
      ...(disposition === 'refused' && { isRefused: true }),
    }))
  } finally {
    await gateway.close()
  }
}
