import LocalDataAuthoring
import Notes

await MigrationAuthoring.main(NotesKeys())
