// Declares the command `doctor`.
import { declareCommand } from '../declare.ts'

export const addDoctorCommand = declareCommand({
  name: 'doctor',
  description:
    'check this installation; each finding has its fix. The exit code is 1 if a check fails; warnings do not count',
  options: { '--only <groups>': 'check these groups, with commas between them: mail,tls' },
  hasJson: true,
  load: async () => (await import('./view.ts')).printDoctor,
})
