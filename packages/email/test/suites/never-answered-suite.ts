import { openMailHouse } from '../house.ts'
import { judgeFates } from '../judge-fates.ts'
import type { Scored } from './score.ts'

/** Sisimai's bounces, complaints and vacation notices of other servers: none may be answered. */
export async function scoreNeverAnswered(folder: URL): Promise<readonly Scored[]> {
  const house = await openMailHouse({ config: { answer_unaddressed: true } })
  try {
    const fates = await judgeFates(house, folder)
    return fates.map(({ file, fate, why }) => ({
      name: file,
      isRight: fate !== 'answered',
      note: why.join(', '),
      ...(fate === 'refused' && { isRefused: true }),
    }))
  } finally {
    await house.close()
  }
}
