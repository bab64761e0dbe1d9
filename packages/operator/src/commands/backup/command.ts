// Declares the commands `backup` and `restore`.
import { declareCommand, joinCommands } from '../declare.ts'

const jsonOption = { '--json': 'print the manifest as JSON, for programs' }

const addBackup = declareCommand({
  name: 'backup',
  arguments: '<folder>',
  description: 'copy the database, its keys and its files to a new folder, while the gateway runs',
  options: jsonOption,
  load: async () => (await import('./view.ts')).backUp,
})

const addRestore = declareCommand({
  name: 'restore',
  arguments: '<folder>',
  description: 'put a backup in the data folder; the gateway must not run',
  options: {
    '--check': 'only check that the backup is complete',
    '--replace': 'move an existing database aside',
    ...jsonOption,
  },
  load: async () => (await import('./view.ts')).restore,
})

export const addBackupCommands = joinCommands(addBackup, addRestore)
