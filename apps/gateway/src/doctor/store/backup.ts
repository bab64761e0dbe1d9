import { ok, warning } from '../../checks/finding.ts'
import { readBackupTime } from '../../platform/backup-time.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'

const dayMs = 86_400_000
const mostDays = 7

/** The age of the last copy that `postern backup` made; other ways are not known here. */
export function checkBackupAge({ directory, now }: Pick<DoctorDeps, 'directory' | 'now'>): CheckOutcome {
  const at = readBackupTime(directory)
  if (at === undefined) return skip('backup', '"postern backup" was never run on this data folder')
  const days = Math.floor((now() - at) / dayMs)
  return about(
    'backup',
    days > mostDays
      ? warning(
          `the last backup is ${days} days old`,
          'Run "postern backup <folder>" every day, and keep it elsewhere.',
        )
      : ok(`the last backup is ${days} days old`),
  )
}
